"""A recording as its magnitude spectrogram: rows are frequencies, columns are moments."""

from __future__ import annotations

import io
import warnings

import numpy as np
import scipy

from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.reading import Limits, Raw

WINDOW_SECONDS = 0.0464
"""2048 samples at 44.1 kHz, the usual choice for music."""
HOPS = 4
"""Windows overlap by three quarters."""
HEAD = 4096
"""Bytes in which the sound of an ordinary recording begins."""
UNKNOWN_LENGTH = 0x7FFFF000
"""A length from which on it was not known when the head was written: programs that write into a pipe declare the most."""
SLICES = 2000
"""Windows that are transformed at a time, so that only their complex numbers are in memory."""


def _whole_frames(content: bytes) -> bytes:
    """A recording that was cut off anywhere, up to its last whole moment: scipy reads no half of one."""
    form, data = content.find(b"fmt ", 0, HEAD), content.find(b"data", 0, HEAD)
    if form < 0 or data < form or len(content) < data + 8 or content[:4] != b"RIFF":
        return content
    frame = max(1, int.from_bytes(content[form + 20 : form + 22], "little"))
    there, declared = len(content) - data - 8, _declared(content)
    return content[: len(content) - there % frame] if there < declared else content


def _declared(content: bytes) -> int:
    """The length of the sound, as the head of an ordinary recording has it."""
    data = content.find(b"data", 0, HEAD)
    return int.from_bytes(content[data + 4 : data + 8], "little")


def read_wav(name: str, content: bytes, limits: Limits) -> Raw:
    """|STFT| with a Hann window; the channels of a recording are averaged."""
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            rate, samples = scipy.io.wavfile.read(io.BytesIO(_whole_frames(content)))
    except MemoryError:
        raise
    except Exception:  # the parser fails in many ways on foreign bytes
        raise InvalidInput(name, "is not a readable WAV recording", "save it as plain PCM WAV") from None
    if rate < 1 or not samples.size:
        raise InvalidInput(name, "holds no sound", "save it as plain PCM WAV")
    window = 2 ** max(3, round(np.log2(WINDOW_SECONDS * rate)))
    if len(samples) < window:
        raise InvalidInput(name, f"is shorter than one window of {window} samples", "choose a longer recording")
    hop = window // HOPS
    transform = scipy.signal.ShortTimeFFT(scipy.signal.windows.hann(window, sym=False), hop, rate)
    first, last = transform.lower_border_end[1], transform.upper_border_begin(len(samples))[1]
    last = max(last, first + 1)
    limits.check_entries(name, transform.f_pts, last - first)  # before the samples become floating-point numbers
    sound = _scaled(samples)
    out = np.empty((transform.f_pts, last - first), np.float32)
    for begin in range(first, last, SLICES):
        end = min(begin + SLICES, last)
        out[:, begin - first : end - first] = np.abs(transform.stft(sound, begin, end))
    times = np.arange(first, last) * hop / rate
    note = f"Magnitude spectrogram: {rate:g} Hz, Hann windows of {window} samples every {hop}."
    cut = any("prematurely" in str(warning.message) for warning in said) and _declared(content) < UNKNOWN_LENGTH
    remarks = ("The recording is cut off: it declares more than it holds. What is there was read; copy it again for the rest.",)
    axes = Axes(Axis("frequency", "Hz", values=transform.f), Axis("time", "s", values=times))
    return Raw(out, note=note, samples_fixed=True, axes=axes, remarks=remarks if cut else ())


def _scaled(samples: np.ndarray) -> np.ndarray:
    """The mean of the channels, between -1 and 1 where they are whole numbers."""
    sound = samples.mean(axis=1) if samples.ndim == 2 else samples.astype(float)
    if samples.dtype.kind in "iu":
        full = np.iinfo(samples.dtype)
        sound = (sound - (full.max + 1) // 2 * (samples.dtype.kind == "u")) / (full.max / (2 if samples.dtype.kind == "u" else 1))
    return sound
