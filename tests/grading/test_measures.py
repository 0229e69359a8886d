from bench.results.measures import Coverage


def test_no_headline_under_95_percent_coverage():
    assert Coverage(100, 95).headline
    assert not Coverage(100, 94).headline
    assert not Coverage(0, 0).headline
