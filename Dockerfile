# The dashboard, the command line and a Dask worker in one image:
#   docker build -t semf-studio .
#   docker run --init -p 127.0.0.1:8501:8501 -v semf-home:/data semf-studio
FROM python:3.11-slim-bookworm AS build
WORKDIR /source
COPY requirements.lock ./
RUN python -m venv /opt/semf && /opt/semf/bin/pip install --no-cache-dir -c requirements.lock hatchling
COPY pyproject.toml README.md LICENSE app.py ./
COPY .streamlit .streamlit
COPY semf_core semf_core
COPY pages pages
COPY assets assets
RUN /opt/semf/bin/hatchling build -t wheel -d /wheels \
    && python -m venv --clear /opt/semf \
    && /opt/semf/bin/pip install --no-cache-dir -c requirements.lock "$(echo /wheels/*.whl)[app,cluster]" \
    && find /opt/semf -type d -name tests -prune -exec rm -rf {} +

FROM python:3.11-slim-bookworm
RUN useradd --create-home --uid 1000 semf && install -d -o semf -g semf /data
COPY --from=build /opt/semf /opt/semf
ENV PATH=/opt/semf/bin:$PATH SEMF_HOME=/data PYTHONUNBUFFERED=1
USER 1000
WORKDIR /home/semf
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
CMD ["semf", "app", "--host", "0.0.0.0", "--no-browser"]
