"""Functions of the packages behind the service that pages use as they are; with `Service` all that they may call there."""

from semf_core.runs.caches import Cache
from semf_core.runs.home import default_home
from semf_core.runs.ids import may_be_run, new_id
from semf_core.runs.incoming_files import Basket
from semf_core.runs.uploads import public_form
from semf_core.sandbox import start_ahead
from semf_core.snapshots.gallery import publishing
from semf_core.studies import builtin_names, builtin_sized, builtin_study
from semf_core.studies.atlas import names_from
from semf_core.studies.choice import choose

__all__ = [
    "Basket",
    "Cache",
    "builtin_names",
    "builtin_sized",
    "builtin_study",
    "choose",
    "default_home",
    "may_be_run",
    "names_from",
    "new_id",
    "public_form",
    "publishing",
    "start_ahead",
]
