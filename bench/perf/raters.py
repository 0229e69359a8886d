"""Fifty raters at once against the site as `make serve` runs it: over HTTP, with sessions, passwords and CSRF."""

from __future__ import annotations

import contextlib
import http.client
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import numpy as np

from bench.perf.measure import Row, reference_s
from bench.perf.site import PASSWORD, Port, graded_site

RATERS = 50
STORED, AFTER, BOTH = "submit", "the page after submit", "submit and the page after it"
ACTIONS = ("login", "queue", "next", "save", "autosave", STORED, AFTER, BOTH)
BUSY_PAUSE_S = 2.0  # who is told that too many sign in tries again after this
GRADES = ("pass", "fail")


@dataclass(frozen=True, slots=True)
class Pace:
    """``think_s``: between two verdicts. All sign in within ``arrive_s``, and work until ``lasts_s``."""

    name: str
    think_s: float
    arrive_s: float
    lasts_s: float


HUMAN = Pace("20 s a verdict", 20, 20, 180)
FAST = Pace("0.2 s a verdict", 0.2, 0, 60)


@dataclass
class Book:
    """What was waited for, in ms, by action. ``busy``: sign-ins that were told to try again."""

    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    busy: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def timed(self, action: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        took = 1000 * (time.perf_counter() - started)
        with self._lock:
            self.waits[action].append(took)

    def told_busy(self) -> None:
        with self._lock:
            self.busy += 1


class Browser:
    """One person's connection and cookies. An answer but 200, 204 and a redirect is an error."""

    def __init__(self, port: Port) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._cookies: dict[str, str] = {}

    def get(self, path: str) -> tuple[str, str]:
        """The address where it ended, and the page there."""
        for _ in range(5):
            location, text = self._sent("GET", path, None, {})
            if not location:
                return path, text
            path = location
        raise ValueError(f"{path} redirects for ever")

    def post(self, path: str, fields: dict[str, str], *, htmx: bool = False) -> tuple[str, str]:
        """The same after the redirects that follow."""
        location, text = self._posted(path, fields, htmx=htmx)
        return self.get(location) if location else (path, text)

    def redirected(self, path: str, fields: dict[str, str]) -> str:
        """The address that the answer names; nothing is read from there."""
        location, text = self._posted(path, fields, htmx=False)
        if not location:
            raise ValueError(f"POST {path} answered with a page instead of a redirect: {text[:300]}")
        return location

    def _posted(self, path: str, fields: dict[str, str], *, htmx: bool) -> tuple[str, str]:
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-CSRFToken": self._cookies["csrftoken"]}
        return self._sent("POST", path, urlencode(fields), headers | ({"HX-Request": "true"} if htmx else {}))

    def _sent(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[str, str]:
        """Where it redirects to, "" for nowhere, and the page."""
        status, location, text = self._ask(method, path, body, headers)
        if status in (301, 302, 303):
            return location, text
        if status not in (200, 204):
            raise Unexpected(status, f"{method} {path} answered {status}: {text[:300]}")
        return "", text

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        try:
            self._connection.request(method, path, body, {"Cookie": cookies, **headers})
            answer = self._connection.getresponse()
        except ConnectionError:  # the server closed what was idle; browsers dial again, too
            self._connection.close()
            self._connection.request(method, path, body, {"Cookie": cookies, **headers})
            answer = self._connection.getresponse()
        for line in answer.headers.get_all("Set-Cookie") or []:
            self._cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return answer.status, answer.headers.get("Location", ""), answer.read().decode()


class Unexpected(ValueError):
    """An answer that no rater should get; a time of it says nothing."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def raters(say: Callable[[str], None]) -> Iterator[Row]:
    """Sign in, open the queue, take the next, save each grade, type a comment, submit and get the next.

    p50 and p95 of each as the rater waits for it, redirects followed. A submit stores and scores, takes the next place
    and names its address; the page there is a row of its own, and so are both together. Database and site are new.
    """
    reference = reference_s()
    for pace in (HUMAN, FAST):
        say(f"{RATERS} raters at {pace.name} for {pace.lasts_s:g} s, on a site and a database of their own")
        with graded_site(RATERS) as port:
            started = time.monotonic()
            book = _work(port, pace)
            lasted = time.monotonic() - started
        for action in ACTIONS:
            for percentile in (50, 95):
                value = float(np.percentile(book.waits[action], percentile))
                name = f"{action}, {pace.name}, p{percentile} of {len(book.waits[action])}"
                yield Row(name, value, "ms", reference * 1000)
        yield Row(f"verdicts, {pace.name}", len(book.waits["save"]) / lasted, "a second", reference)
        yield Row(f"sign-ins told to wait, {pace.name}", book.busy, "times", reference)


def _work(port: Port, pace: Pace) -> Book:
    book, until = Book(), time.monotonic() + pace.lasts_s
    with ThreadPoolExecutor(RATERS) as pool:
        for one in [pool.submit(_rate, port, n, pace, book, until) for n in range(RATERS)]:
            one.result()
    return book


def _rate(port: Port, number: int, pace: Pace, book: Book, until: float) -> None:
    """One rater's work, from sign-in until the time is over."""
    rng = random.Random(number)  # noqa: S311 (reproducible draws)
    browser = Browser(port)
    time.sleep(pace.arrive_s * number / RATERS)
    _sign_in(browser, number, book)
    with book.timed("queue"):
        browser.get("/annotate/")
    with book.timed("next"):
        path, page = browser.post("/annotate/next/", {})
    while time.monotonic() < until:
        shown: dict[str, str] = {}
        for nth, checkpoint in enumerate(dict.fromkeys(re.findall(r'data-checkpoint="(\d+)"', page))):
            time.sleep(pace.think_s * rng.uniform(0.5, 1.5))
            if time.monotonic() > until:
                return
            save = f"{path.split('?')[0]}grades/{checkpoint}/"
            shown[f"shown-{checkpoint}"] = grade = rng.choice(GRADES)
            with book.timed("save"):
                browser.post(save, {"value": grade, f"comment-{checkpoint}": ""}, htmx=True)
            if nth == 0:
                with book.timed("autosave"):
                    browser.post(save, {f"comment-{checkpoint}": "It says so in the second sentence."}, htmx=True)
        path, page = _submit(browser, book, path, shown)
        if "/reveal/" in path:
            raise ValueError("nothing is left to grade; the site was filled with too little for this pace")
        with book.timed("queue"):
            browser.get("/annotate/")


def _submit(browser: Browser, book: Book, path: str, shown: dict[str, str]) -> tuple[str, str]:
    """Address and page of what is graded next."""
    with book.timed(BOTH):
        with book.timed(STORED):
            following = browser.redirected(path.split("?")[0], shown)
        with book.timed(AFTER):
            return browser.get(following)


def _sign_in(browser: Browser, number: int, book: Book) -> None:
    browser.get("/login/")
    with book.timed("login"):
        for _ in range(60):
            try:
                browser.post("/login/", {"username": f"rater{number}", "password": PASSWORD, "next": "/annotate/"})
            except Unexpected as error:
                if error.status != http.client.SERVICE_UNAVAILABLE:
                    raise
                book.told_busy()
                time.sleep(BUSY_PAUSE_S)
            else:
                return
    raise ValueError("a rater was told for two minutes that too many sign in")
