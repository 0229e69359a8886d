"""Celery's way to Redis, for a Redis that may die while messages of its are in a worker's hands.

Kombu gives such messages back, or acknowledges them, by the connection that they came with. Where that one is gone it
raises what Celery does not expect, and the worker ends. Nothing has to be given back: units that are waited for in vain
are sent again (bench/runs/claim.py), and a message that comes twice does no harm.
"""

from __future__ import annotations

from kombu.transport import redis, virtual


class QoS(redis.QoS):
    """Keeps what was delivered and not acknowledged, until its connection is gone."""

    def ack(self, delivery_tag: str) -> None:
        if self._connection_is_gone():
            virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]
        else:
            super().ack(delivery_tag)  # type: ignore[no-untyped-call]

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if self._connection_is_gone():
            virtual.QoS.ack(self, delivery_tag)  # type: ignore[no-untyped-call]
        else:
            super().reject(delivery_tag, requeue=requeue)  # type: ignore[no-untyped-call]

    def restore_unacked(self, client: object = None) -> None:
        if self._connection_is_gone():
            self._delivered.clear()
        else:
            super().restore_unacked(client)  # type: ignore[no-untyped-call]

    def _connection_is_gone(self) -> bool:
        transport = self.channel.connection
        return transport is None or transport.client is None


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel
