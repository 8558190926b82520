"""The configuration of Vitess for the site's tables, generated from the models and their places."""
