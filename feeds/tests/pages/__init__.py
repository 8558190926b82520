"""Pages of posts: composing, editing, deleting, embedding; their words and sizes."""
