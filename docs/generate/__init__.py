"""Pages of the website that are made from the code: every set, solver, data set, study, preset, command and public name."""
