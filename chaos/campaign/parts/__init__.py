"""Parts of the campaign with a fixed list of attacks: tokens, uploads, texts, odd requests.

Requests generated from the site's schema or pages belong to `chaos.campaign.fuzz`.
"""
