"""Functions of the packages behind the service that pages use as they are; with `Service` all that they may call there."""

from semf_core.mathematics.metrics import without_vanished as without_vanished
from semf_core.mathematics.precision import fits_single as fits_single
from semf_core.runs.caches import Cache as Cache
from semf_core.runs.home import default_home as default_home
from semf_core.runs.ids import may_be_run as may_be_run
from semf_core.runs.ids import new_id as new_id
from semf_core.runs.incoming_files import Basket as Basket
from semf_core.runs.uploads import public_form as public_form
from semf_core.sandbox import start_ahead as start_ahead
from semf_core.snapshots.gallery import publishing as publishing
from semf_core.studies.atlas import names_from as names_from
from semf_core.studies.catalogue import builtin_names as builtin_names
from semf_core.studies.catalogue import builtin_sized as builtin_sized
from semf_core.studies.catalogue import builtin_study as builtin_study
from semf_core.studies.choice import choose as choose
