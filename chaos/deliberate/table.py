"""The defects, and the tests that must notice each.

A text spans as many lines as it needs to occur once in its file. A defect changes what the site
does, not whether it runs.
"""

from chaos.deliberate.defect import Defect

_ACCOUNTS = (
    Defect(
        "a revoked access token is accepted",
        "accounts/tokens/floors.py",
        "principal.batch <= floors.batch",
        "principal.batch < floors.batch",
        ("accounts/tests/sign_in/test_credentials.py::test_setting_a_password_ends_every_sign_in",),
    ),
    Defect(
        "a refresh token is accepted as an access token",
        "accounts/tokens/decoding.py",
        "return _read(AccessToken, token).principal",
        "return decode_any(token).principal",
        (
            "accounts/tests/tokens/test_tokens.py"
            "::test_every_forged_access_token_is_invalid_and_never_an_error_of_ours",
        ),
    ),
    Defect(
        "passwords may be guessed without a limit",
        "accounts/sign_in/attempts.py",
        "    if count < free:\n",
        "    if count >= 0:\n",
        (
            "accounts/tests/sign_in/test_attempts.py"
            "::test_five_failures_are_free_then_each_makes_the_wait_longer_up_to_15_minutes",
        ),
    ),
    Defect(
        "the log-in redirects to another site",
        "accounts/views/forms.py",
        'wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None)',
        "wanted",
        ("accounts/tests/test_pages.py::test_next_leads_to_this_site_only",),
    ),
    Defect(
        "the API accepts writes by cookie without a CSRF token",
        "accounts/request_auth/authentication.py",
        "        check_csrf(request._request)\n",
        "",
        (
            "accounts/tests/test_api.py"
            "::test_a_write_by_cookie_needs_the_csrf_token_and_a_write_by_bearer_does_not",
        ),
    ),
)

_RELATIONS = (
    Defect(
        "the search for people shows those with a block",
        "relations/queries.py",
        "return [ident for ident in ids if states.blocked_either_way(known[ident])]",
        "return []",
        ("feeds/tests/pages/test_views.py::test_search_hides_those_behind_a_block",),
    ),
    Defect(
        "a follow that a block ends publishes no event",
        "relations/actions.py",
        "    _publish_changes(other, before.other, after.other)\n",
        "",
        ("relations/tests/test_actions.py::test_a_block_between_friends_ends_two_follows",),
    ),
    Defect(
        "one person more than the limit can be followed",
        "relations/actions.py",
        "following >= site.current().limits.follow_max",
        "following > site.current().limits.follow_max",
        (
            "relations/tests/test_actions.py"
            "::test_the_cap_refuses_the_next_follow_and_an_unfollow_makes_room",
        ),
    ),
)

_FEEDS = (
    Defect(
        "the search finds quiet posts",
        "feeds/discovery/search/matching.py",
        "return visibility != Visibility.QUIET and (kind != Kind.REPOST or bool(content))",
        "return kind != Kind.REPOST or bool(content)",
        (
            "feeds/tests/content/audiences/test_audiences.py"
            "::test_each_audience_sees_a_post_where_it_belongs[quiet-True]",
        ),
    ),
    Defect(
        "posts for followers are public",
        "feeds/visibility.py",
        "return author_id in reader.follows",
        "return True",
        (
            "feeds/tests/content/audiences/test_audiences.py"
            "::test_each_audience_sees_a_post_where_it_belongs[followers-False]",
        ),
    ),
    Defect(
        "the map for search engines shows posts of banned authors",
        "feeds/discovery/public_posts.py",
        "rows = visible_to(None).filter(pk__in=ids, author__limited_at=None).newest_first()",
        "rows = Post.objects.filter(pk__in=ids, author__limited_at=None).newest_first()",
        ("feeds/tests/pages/test_sharing.py::test_the_map_has_what_guests_may_read",),
    ),
    Defect(
        "the cached card of a deleted post is still shown",
        "feeds/cache/__init__.py",
        '''"""Update the caches after the deletion of a post. Never raises."""
    CARDS.invalidate([position.id])
''',
        '''"""Update the caches after the deletion of a post. Never raises."""
''',
        ("socialsite/tests/blocks/test_at_once.py::test_a_lost_post_is_nowhere_at_once",),
    ),
    Defect(
        "an unfollow leaves the posts in the inbox",
        "feeds/delivery/inbox/sync.py",
        "        InboxEntry.objects.filter(user_id=viewer_id, author_id=author_id).delete()\n",
        "",
        (
            "feeds/tests/delivery/inbox/test_trim.py"
            "::test_an_unfollow_empties_a_trimmed_inbox_and_a_follow_fills_it",
        ),
    ),
    Defect(
        "the chunks of a fan-out leave out their last follower",
        "feeds/tiers.py",
        "filter(to_user_id__gt=lower, to_user_id__lte=upper)",
        "filter(to_user_id__gt=lower, to_user_id__lt=upper)",
        (
            "feeds/tests/delivery/fanout/test_fanout.py"
            "::test_a_range_has_its_upper_end_and_not_its_lower_one",
        ),
    ),
    Defect(
        "the read mark of a feed moves back",
        "feeds/actions/read_marks.py",
        "    if rows.filter(lower).update(**values) or rows.exists():\n",
        "    if rows.update(**values) or rows.exists():\n",
        ("feeds/tests/test_actions.py::test_the_read_mark_never_moves_back",),
    ),
)

_INTERACTIONS = (
    Defect(
        "a vote is counted twice",
        "interactions/actions/votes.py",
        "        Vote.objects.filter(pk__in=[ident for ident, _ in found]).update(waiting=None)\n",
        "",
        ("interactions/tests/polls/test_votes.py::test_counts_are_exact_before_and_after_folding",),
    ),
    Defect(
        "the results of a poll show before one has voted",
        "feeds/content/polls/definition.py",
        'if voted or mine or poll["closed"]:',
        "if True:",
        ("interactions/tests/polls/test_votes.py::test_a_vote_is_answered_with_the_results",),
    ),
    Defect(
        "an author named in a repost of their post is notified twice",
        "interactions/notifying/causes.py",
        'return _named(f"{post.title}\\n{post.signs}") - {post.ref_author_id or 0}',
        'return _named(f"{post.title}\\n{post.signs}")',
        (
            "interactions/tests/notifying/test_notifications.py"
            "::test_an_author_mentioned_in_a_repost_of_their_post_is_notified_once",
        ),
    ),
    Defect(
        "notifications count people with a block",
        "interactions/notifying/fold.py",
        "    shown -= set(relations_queries.blocked_ids(reader.pk)",
        "    shown -= set(relations_queries.blocked_ids(0)",
        (
            "interactions/tests/notifying/test_notifications.py"
            "::test_a_crowd_is_counted_without_those_who_are_hidden",
        ),
    ),
    Defect(
        "closed comments take new ones",
        "interactions/actions/comments.py",
        """    subject = locked_subject(post_id)
    if subject.status in CLOSED:
        raise CommentsClosed
""",
        """    subject = locked_subject(post_id)
""",
        ("interactions/tests/test_actions.py::test_closed_comments_take_no_more",),
    ),
    Defect(
        "an unlike does not reduce the count of likes",
        "interactions/actions/likes.py",
        "change_count(Counted.LIKE, subj_type, subj_id, 1 if liked else -1)",
        "change_count(Counted.LIKE, subj_type, subj_id, 1 if liked else 0)",
        ("interactions/tests/test_api.py::test_put_and_delete_of_a_like_can_be_repeated",),
    ),
)

_CORE = (
    Defect(
        "a cursor repeats the last item of the page before",
        "socialsite/core/positions.py",
        'Q(**{f"{ident}__lt": last})',
        'Q(**{f"{ident}__lte": last})',
        (
            "socialsite/core/tests/test_positions.py"
            "::test_before_is_the_order_of_the_pair_time_then_id",
        ),
    ),
    Defect(
        "a last page that is full has a next one",
        "socialsite/core/positions.py",
        "more = len(rows) > size",
        "more = len(rows) >= size",
        (
            "socialsite/core/tests/test_positions.py"
            "::test_a_page_has_a_next_only_when_there_is_more",
        ),
    ),
    Defect(
        "a repeated idempotency key is ignored",
        "socialsite/core/requests/idempotency.py",
        'key = request.headers.get("Idempotency-Key")',
        "key = None",
        (
            "socialsite/core/tests/requests/test_idempotency.py"
            "::test_a_repeat_gets_the_first_answer_and_has_no_effect",
        ),
    ),
    Defect(
        "a picture is stored as it was sent, with its EXIF data",
        "socialsite/core/media/encoding.py",
        "data = _bytes_of(image)",
        "data = raw",
        ("socialsite/core/tests/media/test_media.py::test_no_metadata_survives",),
    ),
    Defect(
        "nobody's files have a quota",
        "socialsite/core/media/disk_space.py",
        "if used >= quota or used + adding > quota:",
        "if used + adding < 0:",
        (
            "socialsite/core/tests/media/test_media_space.py"
            "::test_a_new_account_has_less_room_until_it_is_a_week_old",
        ),
    ),
    Defect(
        "a replica that is behind answers people",
        "socialsite/core/db/replicas.py",
        "if value(one.aliases[0], WAIT, position, left) == 0:",
        "if value(one.aliases[0], WAIT, position, left) in (0, -1):",
        (
            "socialsite/tests/replicas/test_reads.py"
            "::test_while_the_replica_is_behind_the_primary_answers_people",
        ),
    ),
    Defect(
        "rows that are read under a share lock are not locked",
        "socialsite/core/db/__init__.py",
        'lock = " LOCK IN SHARE MODE" if is_mysql() else ""',
        'lock = ""',
        (
            "socialsite/core/tests/db/test_db.py"
            "::test_rows_read_under_a_share_lock_wait_to_be_changed",
        ),
    ),
)

_PAGES = (
    Defect(
        "pages have no content security policy",
        "socialsite/pages/middleware.py",
        '        response.headers.setdefault("Content-Security-Policy", content_policy.PAGE)\n',
        "",
        (
            "socialsite/tests/hostile/test_error_pages.py"
            "::test_a_wrong_host_gets_a_page_or_an_envelope",
        ),
    ),
    Defect(
        "the title of a link preview is not escaped",
        "templates/feeds/_card.html",
        '<b dir="auto">{{ link["title"] }}</b>',
        '<b dir="auto">{{ link["title"] | safe }}</b>',
        (
            "feeds/tests/content/test_previews.py"
            "::test_a_post_shows_title_text_and_picture_of_its_link",
        ),
    ),
    Defect(
        "the text of a quoted post is not escaped",
        "templates/feeds/_card.html",
        '{{ ref["note"] or plain_of(ref) | shortened(280) }}',
        '{{ (ref["note"] or plain_of(ref) | shortened(280)) | safe }}',
        ("feeds/tests/pages/test_views.py::test_words_in_a_quote_are_shown_as_words",),
    ),
    Defect(
        "a Chinese text is missing",
        "socialsite/locale/zh_Hans/LC_MESSAGES/django.po",
        'msgid "Search"\nmsgstr "搜索"\n',
        'msgid "Search"\nmsgstr ""\n',
        (
            "socialsite/tests/documents/test_messages.py"
            "::test_nothing_is_untranslated_fuzzy_or_obsolete",
        ),
    ),
)

DEFECTS = _ACCOUNTS + _RELATIONS + _FEEDS + _INTERACTIONS + _CORE + _PAGES
