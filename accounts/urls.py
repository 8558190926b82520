"""Pages of accounts. The admin's own login pages are replaced: these addresses come before its."""

from django.urls import path

from accounts.views import admin, sign_in

urlpatterns = [
    path("login", sign_in.login, name="login"),
    path("register", sign_in.register, name="register"),
    path("logout", sign_in.logout, name="logout"),
    path("admin/login/", admin.login),
    path("admin/logout/", sign_in.logout),
    path("admin/password_change/", admin.password),
    path("admin/password_change/done/", admin.password),
]
