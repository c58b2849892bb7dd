"""What every other room may use: errors, parameters, registries, limits of a server."""
