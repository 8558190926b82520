"""Page URLs of accounts. They come before the admin's, to replace its own log-in pages."""

from django.urls import path

from accounts.views import (
    admin,
    email,
    invites,
    jwks,
    profile,
    recovery,
    settings,
    sign_in,
    terms,
    two_factor,
)

urlpatterns = [
    path(".well-known/jwks.json", jwks.jwks, name="jwks"),
    path("login", sign_in.login, name="login"),
    path("login/code", two_factor.login, name="two_factor_login"),
    path("register", sign_in.register, name="register"),
    path("register/sent", sign_in.register_sent, name="register_sent"),
    path("terms/accept", terms.accept, name="accept_terms"),
    path("logout", sign_in.logout, name="logout"),
    path("recover", recovery.request, name="recover"),
    path("recover/choose", recovery.choose, name="recover_choose"),
    path("recover/<str:token>", recovery.link, name="recover_link"),
    path("email/confirm", email.confirm, name="email_confirm"),
    path("email/<str:token>", email.link, name="email_link"),
    path("settings/profile", profile.profile, name="profile_settings"),
    path("settings/email", email.show, name="email"),
    path("settings/password", settings.password, name="password"),
    path("settings/devices", settings.show_devices, name="devices"),
    path("settings/invites", invites.show, name="invites"),
    path("settings/invites/<str:invite_id>/end", invites.end, name="end_invite"),
    path("settings/two-factor", two_factor.show, name="two_factor"),
    path("settings/two-factor/confirm", two_factor.confirm, name="two_factor_confirm"),
    path("settings/two-factor/codes", two_factor.renew, name="two_factor_codes"),
    path("settings/two-factor/off", two_factor.turn_off, name="two_factor_off"),
    path("admin/login/", admin.login),
    path("admin/logout/", sign_in.logout),
    path("admin/password_change/", admin.password),
    path("admin/password_change/done/", admin.password),
]
