"""The API as a whole: settings of its framework, the OpenAPI document and its page.

Endpoints belong to the `api` packages of the apps.
"""
