"""Jobs: what is done is not done again, unless it was done with other settings; nothing half-written counts as done."""

import pytest
from jobs import Job, Jobs, clock


@pytest.fixture
def made():
    """The names of the jobs that were worked on, in order."""
    return []


def job(made, name, key=0, stop=False, expected_s=1.0):
    def work():
        if stop:
            raise KeyboardInterrupt
        made.append(name)
        return {"value": f"{name}{key}"}

    return Job(name, {"key": (key, "x")}, expected_s, work)


def run(folder, *jobs):
    all_jobs = Jobs(folder)
    all_jobs.list += jobs
    all_jobs.run()
    return all_jobs


def test_a_stopped_run_goes_on_where_it_was(tmp_path, made, capsys):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, job(made, "a"), job(made, "b", stop=True))
    (tmp_path / "b.json.part").write_text('{"val')  # as a kill in the middle of writing leaves it
    jobs = run(tmp_path, job(made, "a"), job(made, "b"))
    assert made == ["a", "b"] and jobs.result("b") == {"value": "b0"}
    assert "2 jobs, 1 of them done before; less than a minute to go." in capsys.readouterr().out


def test_results_of_other_settings_are_made_anew(tmp_path, made):
    run(tmp_path, job(made, "a"), job(made, "b"))
    jobs = run(tmp_path, job(made, "a", key=1), job(made, "b"))
    assert made == ["a", "b", "a"] and jobs.result("a") == {"value": "a1"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"result": 1}'])
def test_a_broken_result_is_made_anew(tmp_path, made, content):
    (tmp_path / "a.json").write_text(content)
    assert run(tmp_path, job(made, "a")).result("a") == {"value": "a0"}


def test_progress_is_over_the_whole(tmp_path, made, capsys):
    run(tmp_path, *(job(made, str(number), expected_s=3600.0) for number in range(3)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "3 jobs, 0 of them done before; about 3 h 00 min to go."
    assert [line.split()[0] for line in lines[1:]] == ["[1/3]", "[2/3]", "[3/3]"]
    assert lines[-1].endswith("less than a minute to go")


@pytest.mark.parametrize(
    "seconds, words", [(0, "less than a minute"), (61, "about 1 min"), (3600, "about 1 h 00 min"), (9000, "about 2 h 30 min")]
)
def test_clock(seconds, words):
    assert clock(seconds) == words
