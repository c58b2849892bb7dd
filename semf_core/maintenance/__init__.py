"""The whole store of a home folder, for whoever runs the server: what is there, what is damaged, and putting it right."""
