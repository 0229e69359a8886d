"""One settings file for every place; what differs comes from the environment."""

from __future__ import annotations

import secrets
from datetime import timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from iba_site import env, services, state

BASE_DIR = env.BASE_DIR
IBA_HOME = env.home()
DEBUG = env.flag("DEBUG", default=False)


def _secret_key() -> str:
    """SECRET_KEY, or for an embedded copy one made on first start. Never a default."""
    given = env.text("SECRET_KEY")
    if given:
        return given
    if not services.is_embedded():
        raise ImproperlyConfigured("SECRET_KEY is not set; set it or SECRET_KEY_FILE to 50 or more random characters")
    path = IBA_HOME / "secret_key"
    # An empty file is of a start that was killed. Another one may have encrypted something.
    if path.exists() and path.stat().st_size and state.read(path, _is_key) is None:
        raise ImproperlyConfigured(
            f"{path} holds no key (50 or more printable characters). Restore it; or remove it, and a new one is made: "
            "all sign in again then, and stored keys of endpoints have to be entered again"
        )
    return state.keep(path, lambda: secrets.token_urlsafe(50), _is_key)


def _is_key(text: str) -> bool:
    return len(text) >= 50 and text.isascii() and text.isprintable()


SECRET_KEY = _secret_key()
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "csp",
    "ninja",
    "axes",
    "bench",
    "annotation",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "iba_site.middleware.no_store",
    "iba_site.middleware.json_errors",
    "iba_site.middleware.no_nul",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "iba_site.urls"
WSGI_APPLICATION = "iba_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "iba_site.context.site",
            ],
            "libraries": {"iba": "bench.pages.tags"},
        },
    },
]


def _database(url: str) -> dict[str, object]:
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(
            f"DATABASE_URL has scheme {parts.scheme!r}; only postgresql://user:password@host:port/name works"
        )
    query = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/") or "iba",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(query.get("host", parts.hostname or "")),
        "PORT": str(parts.port or ""),
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            # A thread of the worker gives its connection back while it waits for a model.
            # After an outage a pool that still waits for its next try would hold everybody back: it gives up early
            # and tries anew when asked.
            "pool": {"min_size": 1, "max_size": env.integer("DB_POOL", 16), "timeout": 30, "reconnect_timeout": 3},
        },
        "TEST": {"NAME": env.text("TEST_DATABASE", "test_iba")},
    }


SERVICES = "iba_site.services"  # what the benchmark asks of the place it runs in
DATABASES = {"default": _database(services.database_url())}
REDIS_URL = services.redis_url()

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
PASSWORD_HASHERS = ["iba_site.hashing.PatientHasher"]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
# The brake on guessing holds for one name from one address, so that nobody can lock out another.
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "iba_site.brake.address_of"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = timedelta(minutes=10)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "iba_site.views.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_VERBOSE = False
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "dashboard"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT") or IBA_HOME / "staticfiles")
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # the server of static files warns of a folder that is missing
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

_HTTPS = env.flag("HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
SESSION_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = _HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if _HTTPS else 0
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
# Whose word counts for a client's address and scheme: nobody's, or that of the one proxy in front. iba_site.front puts
# the address where everything below reads it.
BEHIND_PROXY = env.flag("BEHIND_PROXY", default=False)
NINJA_NUM_PROXIES = 0
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "style-src": ["'self'"],
        "script-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    },
    "EXCLUDE_URL_PREFIXES": ["/api/docs"],
}

CELERY_BROKER_URL = REDIS_URL
CELERY_BROKER_TRANSPORT = "iba_site.broker:Transport"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # a worker waits for its queue as long as it takes
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = env.text("QUEUE", "iba")

# Work that a dead worker held is taken up again after this long.
LEASE_S = env.integer("LEASE_S", 60, low=2, high=3600)
WORKER_THREADS = env.integer("WORKER_THREADS", 64, high=1024)

EMBEDDINGS_MODEL = env.text("EMBEDDINGS_MODEL", "multilingual-e5-small-q4")
EMBEDDINGS_API_KEY = env.text("EMBEDDINGS_API_KEY")

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("LOG_LEVEL", "WARNING")},
    "loggers": {"httpx": {"level": "WARNING"}, "openai": {"level": "WARNING"}},
}
