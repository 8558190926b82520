"""Pages of accounts. The admin's own login pages are replaced: these addresses come before its."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("login", views.login, name="login"),
    path("register", views.register, name="register"),
    path("logout", views.logout, name="logout"),
    path("admin/login/", views.admin_login),
    path("admin/logout/", views.logout),
    path("admin/password_change/", views.admin_password),
    path("admin/password_change/done/", views.admin_password),
]
