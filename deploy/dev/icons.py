"""Makes the icons of the installed app from `static/img/logo-512.png`.

`python -m deploy.dev.icons` writes them again after a change of the logo. The colour of the logo's
own square fills the icons that a system cuts to its shape.
"""

from pathlib import Path

from PIL import Image

IMAGES = Path(__file__).resolve().parents[2] / "static" / "img"
GREEN = "#0b6e5f"
# The circle that every system shows of a maskable icon has 80 % of its width.
SAFE = 0.8


def main() -> None:
    """Write the icons."""
    logo = Image.open(IMAGES / "logo-512.png").convert("RGBA")
    _write(logo.resize((192, 192), Image.Resampling.LANCZOS), "app-192.png")
    for size, name in ((512, "app-maskable-512.png"), (180, "app-touch-180.png")):
        inner = round(size * SAFE)
        square = Image.new("RGBA", (size, size), GREEN)
        small = logo.resize((inner, inner), Image.Resampling.LANCZOS)
        square.alpha_composite(small, ((size - inner) // 2,) * 2)
        _write(square.convert("RGB"), name)


def _write(image: Image.Image, name: str) -> None:
    image.save(IMAGES / name, optimize=True)


if __name__ == "__main__":
    main()
