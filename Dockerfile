# One image for web and worker. Build: docker build -t iba-bench .
FROM python:3.12-slim-bookworm AS build
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /app
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev

FROM python:3.12-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/* \
    && useradd --system --create-home --uid 10001 iba
WORKDIR /app
COPY --from=build /app/.venv .venv
COPY . .
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 DJANGO_SETTINGS_MODULE=iba_site.settings \
    IBA_HOME=/home/iba/state STATIC_ROOT=/app/staticfiles
RUN SECRET_KEY=only-for-collecting-static-files DATABASE_URL=postgresql://none/none REDIS_URL=redis://none:1/0 \
    python -m django collectstatic --noinput && mkdir -p /home/iba/state && chown iba /home/iba/state
USER iba
EXPOSE 8000
CMD ["python", "-m", "iba_site.web", "--host", "0.0.0.0", "--port", "8000"]
