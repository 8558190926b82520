"""API URLs of accounts."""

from django.urls import path

from accounts.api import (
    acts,
    devices,
    email,
    introspection,
    invites,
    password,
    people,
    recovery,
    sign_in,
    two_factor,
)
from accounts.api.ws_ticket import WsTicket

urlpatterns = [
    path("auth/register", sign_in.Register.as_view()),
    path("auth/challenge", sign_in.Challenge.as_view()),
    path("invites", invites.Invites.as_view()),
    path("invites/<str:invite_id>", invites.OneInvite.as_view()),
    path("auth/login", sign_in.Login.as_view()),
    path("auth/reopen", sign_in.Reopen.as_view()),
    path("auth/acts", acts.ActsOutside.as_view()),
    path("auth/appeal", acts.AppealOutside.as_view()),
    path("auth/refresh", sign_in.Refresh.as_view()),
    path("auth/logout", sign_in.Logout.as_view()),
    path("auth/password", password.Password.as_view()),
    path("auth/email", email.Email.as_view()),
    path("auth/email/waiting", email.WaitingEmail.as_view()),
    path("auth/email/confirm", email.EmailConfirm.as_view()),
    path("auth/recover", recovery.Recover.as_view()),
    path("auth/recover/confirm", recovery.RecoverConfirm.as_view()),
    path("auth/devices", devices.Devices.as_view()),
    path("auth/devices/<str:client>", devices.Device.as_view()),
    path("auth/introspect", introspection.Introspect.as_view()),
    path("auth/totp", two_factor.TwoFactor.as_view()),
    path("auth/totp/confirm", two_factor.TwoFactorConfirm.as_view()),
    path("auth/totp/recovery-codes", two_factor.TwoFactorRecoveryCodes.as_view()),
    path("auth/ws-ticket", WsTicket.as_view()),
    path("users", people.Users.as_view()),
    path("users/me", people.Me.as_view()),
    path("users/me/acts", acts.Acts.as_view()),
    path("users/me/sign-ins", devices.SignIns.as_view()),
    path("users/me/acts/<str:act_id>/appeal", acts.ActAppeal.as_view()),
    path("users/me/preferences", people.ReadingPreferences.as_view()),
    path("users/by-name/<str:username>", people.UserByName.as_view()),
    path("users/<str:user_id>", people.UserById.as_view()),
]
