"""Functions run in a child process with limits on memory and time, for whatever strangers bring."""

from semf_core.sandbox.pool import Outcome, Pool, call, start_ahead

__all__ = ["Outcome", "Pool", "call", "start_ahead"]
