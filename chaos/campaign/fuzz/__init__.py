"""The fuzz: requests generated from the OpenAPI document and from pages, with hostile values.

Fixed lists of attacks belong to `chaos.campaign.parts`.
"""
