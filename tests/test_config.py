"""Settings: where a value comes from, what is refused, and what is never shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.config import BUDGET_VARIABLES, GONE, ModelFacts, RunBudget, Settings, mask_url, variable_name
from recollect.errors import ConfigurationError


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A current folder and a home, both empty."""
    cwd, home = tmp_path / "here", tmp_path / "home"
    cwd.mkdir()
    home.mkdir()
    return cwd, home


def test_an_argument_wins_over_the_environment_over_the_file_over_the_default(
    places: tuple[Path, Path],
) -> None:
    cwd, home = places
    (cwd / "recollect.toml").write_text("pool_size = 3\nlearning_explore = 0.04\nserve_port = 5\n")
    environ = {"RECOLLECT_POOL_SIZE": "30", "RECOLLECT_LEARNING_EXPLORE": "0.4"}

    settings = Settings.load(home, environ=environ, cwd=cwd, pool_size=300)

    assert (settings.pool_size, settings.learning_explore, settings.serve_port) == (300, 0.4, 5)
    assert settings.statement_timeout_s == Settings(home=home).statement_timeout_s
    sources = {row.name: row.source for row in settings.describe()}
    assert sources["pool_size"] == "argument"
    assert sources["learning_explore"] == "RECOLLECT_LEARNING_EXPLORE"
    assert sources["serve_port"] == str(cwd / "recollect.toml")
    assert sources["statement_timeout_s"] == "default"


def test_the_file_in_home_is_read_only_when_the_current_folder_has_none(places: tuple[Path, Path]) -> None:
    cwd, home = places
    (home / "recollect.toml").write_text("pool_size = 7\n")
    assert Settings.load(home, environ={}, cwd=cwd).pool_size == 7
    assert Settings.load(environ={"RECOLLECT_HOME": str(home)}, cwd=cwd).pool_size == 7

    (cwd / "recollect.toml").write_text("serve_port = 9\n")
    settings = Settings.load(home, environ={}, cwd=cwd)
    assert settings.serve_port == 9
    assert settings.pool_size == Settings(home=home).pool_size


def test_a_home_in_the_file_is_relative_to_the_file(places: tuple[Path, Path]) -> None:
    cwd, _ = places
    (cwd / "recollect.toml").write_text('home = "data/store"\n')
    assert Settings.load(environ={}, cwd=cwd).home == cwd / "data" / "store"


def test_a_home_in_the_file_that_lies_in_home_is_refused(places: tuple[Path, Path]) -> None:
    cwd, home = places
    (home / "recollect.toml").write_text('home = "elsewhere"\n')
    with pytest.raises(ConfigurationError, match="home can't be set in"):
        Settings.load(home, environ={}, cwd=cwd)


def test_without_anything_home_is_the_user_data_folder_and_the_user_is_the_system_one(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cwd, home = places
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    monkeypatch.setenv("LOGNAME", "ana")
    settings = Settings.load(environ={}, cwd=cwd)
    assert settings.home.name == "recollect"
    assert settings.home.is_absolute()
    assert settings.tenant == "local"
    assert settings.user == "ana"
    assert settings.database_url is None
    assert not settings.home.exists(), "loading settings creates nothing"


def test_an_empty_variable_counts_as_not_set(places: tuple[Path, Path]) -> None:
    cwd, home = places
    settings = Settings.load(home, environ={"RECOLLECT_DATABASE_URL": "", "RECOLLECT_EMBEDDER": ""}, cwd=cwd)
    assert settings.database_url is None
    assert settings.embedder == "auto"


def test_every_setting_can_come_from_its_variable(places: tuple[Path, Path]) -> None:
    cwd, home = places
    environ = {
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_DATABASE_URL": "postgresql://u:p@h:5432/db",
        "RECOLLECT_TENANT": "acme",
        "RECOLLECT_USER": "ana",
        "RECOLLECT_TIMEZONE": "Europe/Lisbon",
        "RECOLLECT_EMBEDDER": "wordllama",
        "RECOLLECT_EMBEDDER_BASE_URL": "http://127.0.0.1:1/v1/",
        "RECOLLECT_EMBEDDER_API_KEY": "k",
        "RECOLLECT_MODEL": "openai:m",
        "RECOLLECT_MODEL_BASE_URL": "http://127.0.0.1:2/v1",
        "RECOLLECT_MODEL_API_KEY": "k",
        "RECOLLECT_MODEL_PROFILE": "window=65536 effort=low tools=on input_usd=1.25 output_usd=10 retries=2 "
        "timeout_s=5",
        "RECOLLECT_POOL_SIZE": "5",
        "RECOLLECT_STATEMENT_TIMEOUT_S": "0",
        "RECOLLECT_ROOT_MODEL": "openai:large",
        "RECOLLECT_SUB_CALL_MODEL": "openai:small",
        "RECOLLECT_RECURSION_THRESHOLD": "0.5",
        "RECOLLECT_ROOTS": str(home),
        "RECOLLECT_BUDGET": "max_subcalls=20 max_subcalls_per_iteration=4 timeout_seconds=60 max_usd=0.5 "
        "rows_max_tokens=5000",
        "RLM_CACHE_ENABLED": "false",
        "RLM_AUDIT_DIR": str(home),
        "RECOLLECT_URL": "http://127.0.0.1:8484",
        "RECOLLECT_API_KEY": "rcl_x",
        "RECOLLECT_SERVE_HOST": "0.0.0.0",
        "RECOLLECT_SERVE_PORT": "9000",
        "RECOLLECT_SERVE_REQUESTS_PER_MINUTE": "600",
        "RECOLLECT_SERVE_DASHBOARD": "off",
        "RECOLLECT_SERVE_WORKERS": "3",
        "RECOLLECT_SERVE_GRACE_S": "5",
        "RECOLLECT_LEARNING": "off",
        "RECOLLECT_LEARNING_RETENTION_DAYS": "30",
        "RECOLLECT_LEARNING_EXPLORE": "0.05",
        "RECOLLECT_DOMAIN_DATABASE_URL": "sqlite:///shop.db",
        "RECOLLECT_DOMAIN_TIMEOUT_S": "3",
        "RECOLLECT_LOG_LEVEL": "DEBUG",
    }
    settings = Settings.load(environ=environ, cwd=cwd)
    rows = settings.describe()
    assert {row.variable for row in rows} == set(environ)
    assert all(row.source == row.variable for row in rows)
    assert settings == Settings(
        home=home,
        database_url="postgresql://u:p@h:5432/db",
        tenant="acme",
        user="ana",
        timezone="Europe/Lisbon",
        embedder="wordllama",
        embedder_base_url="http://127.0.0.1:1/v1",
        embedder_api_key="k",
        model="openai:m",
        model_base_url="http://127.0.0.1:2/v1",
        model_api_key="k",
        model_profile=ModelFacts(
            window=65_536, effort="low", tools=True, input_usd=1.25, output_usd=10.0, retries=2, timeout_s=5.0
        ),
        root_model="openai:large",
        sub_call_model="openai:small",
        recursion_threshold=0.5,
        roots=(home,),
        budget=RunBudget(
            max_subcalls=20,
            max_subcalls_per_iteration=4,
            timeout_seconds=60.0,
            max_usd=0.5,
            rows_max_tokens=5_000,
        ),
        rlm_cache_enabled=False,
        rlm_audit_dir=home,
        url="http://127.0.0.1:8484",
        api_key="rcl_x",
        serve_host="0.0.0.0",
        serve_port=9000,
        serve_requests_per_minute=600,
        serve_dashboard=False,
        serve_workers=3,
        serve_grace_s=5.0,
        pool_size=5,
        statement_timeout_s=0.0,
        learning=False,
        learning_retention_days=30,
        learning_explore=0.05,
        domain_database_url="sqlite:///shop.db",
        domain_timeout_s=3.0,
        log_level="debug",
    )


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("RECOLLECT_POOL_SIZE", "abc", "RECOLLECT_POOL_SIZE='abc' is not a whole number from 1 to 1000"),
        ("RECOLLECT_POOL_SIZE", "0", "RECOLLECT_POOL_SIZE='0' is not a whole number"),
        ("RECOLLECT_POOL_SIZE", "1.5", "RECOLLECT_POOL_SIZE='1.5' is not a whole number"),
        ("RECOLLECT_SERVE_GRACE_S", "nan", "RECOLLECT_SERVE_GRACE_S='nan' is not a number of seconds"),
        ("RECOLLECT_SERVE_GRACE_S", "soon", "RECOLLECT_SERVE_GRACE_S='soon' is not a number of seconds"),
        ("RECOLLECT_LOG_LEVEL", "loud", "RECOLLECT_LOG_LEVEL='loud' is not a log level; levels are debug"),
        (
            "RECOLLECT_DATABASE_URL",
            "mysql://h/db",
            "RECOLLECT_DATABASE_URL='mysql://h/db' is not a PostgreSQL URL",
        ),
        (
            "RECOLLECT_EMBEDDER_BASE_URL",
            "localhost",
            "RECOLLECT_EMBEDDER_BASE_URL='localhost' is not an HTTP",
        ),
        ("RECOLLECT_TENANT", "a\x07b", "RECOLLECT_TENANT='a\\x07b' can't be used"),
        ("RECOLLECT_EMBEDDER", "  ", "RECOLLECT_EMBEDDER='  ' is empty"),
        (
            "RECOLLECT_RECURSION_THRESHOLD",
            "3",
            "RECOLLECT_RECURSION_THRESHOLD='3' is not a number from 0 to 1",
        ),
        ("RECOLLECT_LEARNING", "maybe", "RECOLLECT_LEARNING='maybe' is neither 'on' nor 'off'"),
        (
            "RECOLLECT_MODEL_PROFILE",
            "big",
            "RECOLLECT_MODEL_PROFILE='big' has an unknown 'big'; what can be said",
        ),
        (
            "RECOLLECT_MODEL_PROFILE",
            "window=many",
            "RECOLLECT_MODEL_PROFILE='window=many' has a window='many' that is not a whole number from 1024",
        ),
        (
            "RECOLLECT_MODEL_PROFILE",
            "input_usd=1",
            "RECOLLECT_MODEL_PROFILE='input_usd=1' has one price without the other",
        ),
        ("RLM_TIMEOUT", "soon", "RLM_TIMEOUT='soon' is not a number of seconds from 0.05 to 86400"),
        (
            "RECOLLECT_BUDGET",
            "1h",
            "RECOLLECT_BUDGET='1h' has an unknown '1h'; what can be said is max_subcalls",
        ),
    ],
)
def test_a_bad_variable_is_named_with_its_value(
    places: tuple[Path, Path], variable: str, value: str, complaint: str
) -> None:
    cwd, home = places
    with pytest.raises(ConfigurationError) as caught:
        Settings.load(home, environ={variable: value}, cwd=cwd)
    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pool_size = true", "pool_size=True (in "),
        ("pool_size = 'many'", "pool_size='many' (in "),
        ("embedder = 3", "embedder=3 (in "),
        ("home = 3", "home=3 (in "),
        ("pol_size = 3", "unknown setting 'pol_size' in "),
        ("pool-size = 3", "unknown setting 'pool-size' in "),
        ("[recollect]\npool_size = 3", "unknown setting 'recollect' in "),
        ("pool_size = ", "is not valid TOML"),
    ],
)
def test_a_bad_file_is_named(places: tuple[Path, Path], text: str, complaint: str) -> None:
    cwd, _ = places
    file = cwd / "recollect.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        Settings.load(environ={}, cwd=cwd)
    assert complaint in str(caught.value)
    assert str(file) in str(caught.value)


def test_an_unknown_name_is_answered_with_the_closest_setting(places: tuple[Path, Path]) -> None:
    cwd, home = places
    (cwd / "recollect.toml").write_text("pol_size = 3")
    with pytest.raises(ConfigurationError, match="did you mean 'pool_size'"):
        Settings.load(environ={}, cwd=cwd)
    with pytest.raises(ConfigurationError, match="did you mean 'embedder_api_key'"):
        Settings.load(home, environ={}, cwd=home, embedder_apikey="k")
    with pytest.raises(ConfigurationError, match="settings are home, "):
        Settings(home=home).replace(zzz=1)


@pytest.mark.parametrize("name", GONE)
def test_a_setting_that_is_gone_says_what_replaces_it(places: tuple[Path, Path], name: str) -> None:
    cwd, home = places
    if variable_name(name) not in {*BUDGET_VARIABLES, "RLM_MODEL"}:
        with pytest.raises(ConfigurationError, match=f"'{name}' in the environment is gone: "):
            Settings.load(home, environ={variable_name(name): "3"}, cwd=cwd)
    with pytest.raises(ConfigurationError, match=f"'{name}' in argument is gone: ") as caught:
        Settings(home=home).replace(**{name: 3})
    assert str(caught.value).endswith(GONE[name])
    (cwd / "recollect.toml").write_text(f"{name} = 3")
    with pytest.raises(ConfigurationError, match=r"recollect\.toml'\" is gone: |recollect\.toml' is gone: "):
        Settings.load(environ={}, cwd=cwd)


def test_a_variable_for_a_part_of_the_budget_leaves_the_rest_to_the_file(places: tuple[Path, Path]) -> None:
    cwd, home = places
    (cwd / "recollect.toml").write_text("[budget]\nmax_usd = 0.5\ntimeout_seconds = 900\nmax_subcalls = 9\n")
    environ = {"RLM_TIMEOUT": "60", "RLM_MAX_SUBCALLS": "40", "RLM_MAX_PER_ITERATION": "4"}

    settings = Settings.load(home, environ=environ, cwd=cwd)

    assert settings.budget == RunBudget(
        max_subcalls=40, max_subcalls_per_iteration=4, timeout_seconds=60.0, max_usd=0.5
    )
    [row] = [row for row in settings.describe() if row.name == "budget"]
    assert row.source == "RLM_MAX_SUBCALLS, RLM_MAX_PER_ITERATION, RLM_TIMEOUT"
    assert row.value == "max_subcalls=40 max_subcalls_per_iteration=4 timeout_seconds=60.0 max_usd=0.5"
    given = Settings.load(home, environ=environ, cwd=cwd, budget={"max_usd": 1})
    assert given.budget == RunBudget(max_usd=1.0)


def test_a_second_variable_counts_where_the_first_says_nothing(places: tuple[Path, Path]) -> None:
    cwd, home = places
    environ = {"RLM_MODEL": "openai:small", "RECOLLECT_ROOT_MODEL": ""}
    assert Settings.load(home, environ=environ, cwd=cwd).root_model == "openai:small"
    environ["RECOLLECT_ROOT_MODEL"] = "openai:large"
    assert Settings.load(home, environ=environ, cwd=cwd).root_model == "openai:large"


def test_facts_about_a_model_are_shown_as_they_are_written(places: tuple[Path, Path]) -> None:
    cwd, home = places
    (cwd / "recollect.toml").write_text("model_profile = {window = 65536, tools = false}")
    settings = Settings.load(home, environ={}, cwd=cwd)
    [row] = [row for row in settings.describe() if row.name == "model_profile"]
    assert row.value == "window=65536 tools=off"
    assert Settings.load(home, environ={}, cwd=home, model_profile=row.value) == settings.replace()


def test_a_file_that_is_not_utf8_is_named(places: tuple[Path, Path]) -> None:
    cwd, _ = places
    (cwd / "recollect.toml").write_bytes(b"embedder = '\xff'")
    with pytest.raises(ConfigurationError, match="can't read"):
        Settings.load(environ={}, cwd=cwd)


def test_made_directly_settings_are_checked_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^pool_size=0 is not"):
        Settings(home=tmp_path, pool_size=0)
    with pytest.raises(ConfigurationError, match=r"^home=''"):
        Settings(home="")  # type: ignore[arg-type]


def test_replace_changes_a_value_and_its_source(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path).replace(pool_size=2)
    assert settings.pool_size == 2
    assert {row.name: row.source for row in settings.describe()}["pool_size"] == "argument"


@pytest.mark.parametrize("password", ["hunter2", "hun@ter2", "hun/ter2", "hun:ter2", "hun?ter2", "h@un/ter2"])
def test_a_password_is_never_shown(tmp_path: Path, password: str) -> None:
    url = f"postgresql://ana:{password}@db.example:5432/memories"
    pieces = [piece for piece in ("hunter2", "ter2") if piece in password]
    try:
        settings = Settings(home=tmp_path, database_url=url, embedder_api_key="sk-" + password)
        shown = repr(settings) + "".join(row.value for row in settings.describe())
    except ConfigurationError as error:
        shown = str(error) + str(error.__cause__)
    assert not any(piece in shown for piece in pieces)
    assert "ana" in shown


def test_a_bad_secret_is_not_quoted(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Settings(home=tmp_path, embedder_api_key="sk-\x00hunter2")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        Settings(home=tmp_path, database_url="mysql://ana:hunter2@h/db")
    assert "hunter2" not in str(caught.value)
    assert "mysql://ana:***@h/db" in str(caught.value)


def test_secrets_among_a_urls_parameters_are_masked() -> None:
    assert (
        mask_url("postgresql://h/db?password=x&sslmode=require")
        == "postgresql://h/db?password=***&sslmode=require"
    )
    assert mask_url("http://h/v1?api_key=x#y") == "http://h/v1?api_key=***#y"
    assert mask_url("postgresql://ana@h:5432/db") == "postgresql://ana@h:5432/db"


def test_every_setting_has_a_help_sentence_and_a_variable(tmp_path: Path) -> None:
    for row in Settings(home=tmp_path).describe():
        assert row.help.endswith(".")
        assert row.help[0].isupper()
        assert row.variable == variable_name(row.name)
        assert row.default != ""


def test_the_process_environment_is_read_when_asked_not_when_imported(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cwd, home = places
    monkeypatch.chdir(cwd)
    monkeypatch.setenv("RECOLLECT_HOME", os.fspath(home))
    monkeypatch.setenv("RECOLLECT_POOL_SIZE", "11")
    assert Settings.load().pool_size == 11
    monkeypatch.setenv("RECOLLECT_POOL_SIZE", "12")
    assert Settings.load().pool_size == 12
