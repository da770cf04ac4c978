from email import message_from_bytes, policy


def read_mail(data: bytes, name: str) -> str:
    """A saved mail as Markdown; headings become sections that citations name."""
    mail = message_from_bytes(data, policy=policy.default)
    body = mail.get_body(preferencelist=("plain",))
    return (
        f"# {mail['subject']}\n\nFrom {mail['from']}, {mail['date']}.\n\n{body.get_content() if body else ''}"
    )
