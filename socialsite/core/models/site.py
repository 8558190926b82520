"""What the site says about itself."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy, pgettext_lazy


class SiteSettings(models.Model):
    """What staff say about the site: one row, which `core.site` reads. Empty: the environment's."""

    THE_ROW = 1
    NAME_MAX, WORDS_MAX, CONTACT_MAX = 40, 300, 200
    MICRO_LEAST, MICRO_MOST = 100, 2000
    # A person's own follows are read with each home page that is built anew.
    FOLLOWS_LEAST, FOLLOWS_MOST, VIDEO_MB_MOST = 50, 100_000, 100
    TEXTS = ("name", "description_en", "description_zh_hans")
    QUESTIONS = ("question_en", "question_zh_hans")
    DOMAINS = ("domains_allowed", "domains_refused")
    DOMAINS_MAX = 5000
    LIMITS = ("micro_max", "follow_max", "video_mb", "videos", "link_previews")

    class SignUp(models.TextChoices):
        """Who may create an account."""

        OPEN = "open", pgettext_lazy("sign-up", "open to everybody")
        APPROVAL = "approval", pgettext_lazy("sign-up", "staff decide on each request")
        INVITE = "invite", pgettext_lazy("sign-up", "by invitation")
        CLOSED = "closed", pgettext_lazy("sign-up", "closed")

    id = models.PositiveSmallIntegerField(primary_key=True, default=THE_ROW)
    name = models.CharField(
        max_length=NAME_MAX, blank=True, default="", verbose_name=gettext_lazy("name")
    )
    description_en = models.CharField(
        max_length=WORDS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("description in English"),
    )
    description_zh_hans = models.CharField(
        max_length=WORDS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("description in Chinese"),
    )
    contact = models.CharField(
        max_length=CONTACT_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("contact"),
        help_text=gettext_lazy("an e-mail address, or a page: https://…"),
    )
    sign_up = models.CharField(
        max_length=16,
        choices=SignUp.choices,
        blank=True,
        default="",
        verbose_name=gettext_lazy("sign-up"),
    )
    members_invite = models.BooleanField(
        default=False,
        verbose_name=gettext_lazy("all members may invite people"),
        help_text=gettext_lazy("Staff always may. Whoever is invited needs no decision of staff."),
    )
    question_en = models.CharField(
        max_length=WORDS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("question in English"),
        help_text=gettext_lazy("what people answer when staff decide on their request"),
    )
    question_zh_hans = models.CharField(
        max_length=WORDS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("question in Chinese"),
    )
    email_needed = models.BooleanField(
        default=False,
        verbose_name=gettext_lazy("sign-up needs a confirmed e-mail address"),
    )
    domains_allowed = models.TextField(
        max_length=DOMAINS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("domains allowed"),
        help_text=gettext_lazy(
            "one in a line, such as example.org; it stands for its subdomains too. If there are"
            " any, e-mail addresses of other domains are refused."
        ),
    )
    domains_refused = models.TextField(
        max_length=DOMAINS_MAX,
        blank=True,
        default="",
        verbose_name=gettext_lazy("domains refused"),
        help_text=gettext_lazy("one in a line; e-mail addresses of these are refused"),
    )
    accent = models.CharField(
        max_length=7,
        blank=True,
        default="",
        verbose_name=gettext_lazy("colour"),
        help_text=gettext_lazy(
            "such as #095a4e; where texts need it, pages make it darker or lighter"
        ),
    )
    # The digest of the logo; empty for that of the design.
    logo = models.CharField(max_length=12, default="", editable=False)
    # NULL: the environment's.
    micro_max = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(MICRO_LEAST), MaxValueValidator(MICRO_MOST)],
        verbose_name=gettext_lazy("characters of a short post"),
    )
    follow_max = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(FOLLOWS_LEAST), MaxValueValidator(FOLLOWS_MOST)],
        verbose_name=gettext_lazy("people that one may follow"),
    )
    video_mb = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(VIDEO_MB_MOST)],
        verbose_name=gettext_lazy("size of an uploaded video in MB"),
    )
    videos = models.BooleanField(
        null=True, blank=True, verbose_name=gettext_lazy("people may upload videos")
    )
    link_previews = models.BooleanField(
        null=True, blank=True, verbose_name=gettext_lazy("posts show previews of their links")
    )
    # The current version of each document; 0 for none.
    about = models.PositiveIntegerField(default=0, editable=False)
    rules = models.PositiveIntegerField(default=0, editable=False)
    terms = models.PositiveIntegerField(default=0, editable=False)
    privacy = models.PositiveIntegerField(default=0, editable=False)
    # People must have accepted this version of the terms or a later one; 0 for none.
    terms_needed = models.PositiveIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = verbose_name_plural = gettext_lazy("the site")

    def __str__(self) -> str:
        return self.name


class SiteDocument(models.Model):
    """A version of a text about the site, as Markdown. Rows never change: a change is a new one."""

    TEXT_MAX = 50_000  # characters
    TEXTS = ("text_en", "text_zh_hans")

    class Kind(models.TextChoices):
        """What the text is; the site has one address for each."""

        ABOUT = "about", gettext_lazy("About")
        RULES = "rules", gettext_lazy("Rules")
        TERMS = "terms", gettext_lazy("Terms of use")
        PRIVACY = "privacy", gettext_lazy("Privacy")

    kind = models.CharField(max_length=16, choices=Kind.choices, verbose_name=gettext_lazy("text"))
    version = models.PositiveIntegerField(verbose_name=gettext_lazy("version"))
    # Both empty: the site withdrew the text.
    text_en = models.TextField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in English")
    )
    text_zh_hans = models.TextField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in Chinese")
    )
    published_at = models.DateTimeField(
        default=timezone.now, verbose_name=gettext_lazy("published")
    )

    class Meta:
        verbose_name = gettext_lazy("text of the site")
        verbose_name_plural = gettext_lazy("texts of the site")
        constraints = [models.UniqueConstraint(fields=["kind", "version"], name="uk_site_document")]

    def __str__(self) -> str:
        return f"{self.kind} {self.version}"


class SiteLogo(models.Model):
    """A file of the site's logo: a PNG for one use."""

    logo = models.CharField(max_length=12)
    name = models.CharField(max_length=12)
    png = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["logo", "name"], name="uk_site_logo")]

    def __str__(self) -> str:
        return f"{self.logo} {self.name}"


class Announcement(models.Model):
    """A short text for everybody, shown from one time to another."""

    TEXT_MAX = 500
    TEXTS = ("text_en", "text_zh_hans")

    text_en = models.CharField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in English")
    )
    text_zh_hans = models.CharField(
        max_length=TEXT_MAX, blank=True, default="", verbose_name=gettext_lazy("text in Chinese")
    )
    starts_at = models.DateTimeField(default=timezone.now, verbose_name=gettext_lazy("from"))
    ends_at = models.DateTimeField(db_index=True, verbose_name=gettext_lazy("until"))
    for_guests = models.BooleanField(default=False, verbose_name=gettext_lazy("guests see it too"))

    class Meta:
        verbose_name = gettext_lazy("announcement")
        verbose_name_plural = gettext_lazy("announcements")

    def __str__(self) -> str:
        return self.text_en or self.text_zh_hans


class AnnouncementDismissal(models.Model):
    """A person wants to see an announcement no more."""

    id = models.BigAutoField(primary_key=True)
    user_id = models.BigIntegerField()
    announcement = models.ForeignKey(Announcement, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user_id", "announcement"], name="uk_announcement_dismissal"
            )
        ]

    def __str__(self) -> str:
        return f"{self.announcement_id} by {self.user_id}"
