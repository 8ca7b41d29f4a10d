"""The review's colours: a night sky, moonlight for what is active, a lamp for what needs the user."""

from __future__ import annotations

from textual.theme import Theme

NIGHT = Theme(
    name="skillopt-night",
    primary="#8fb0ff",
    secondary="#6d7fae",
    accent="#f2c66d",
    success="#79d398",
    warning="#f2c66d",
    error="#ff7d88",
    foreground="#dde4f3",
    background="#0e1320",
    surface="#131a2a",
    panel="#1c2539",
    dark=True,
    variables={
        "border": "#5f79b8",
        "border-blurred": "#2a3550",
        "block-cursor-background": "#26345a",
        "block-cursor-foreground": "#dde4f3",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#1e2941",
        "block-cursor-blurred-foreground": "#dde4f3",
        "block-cursor-blurred-text-style": "none",
        "block-hover-background": "#19223a",
        "footer-background": "#0e1320",
        "footer-item-background": "#0e1320",
        "footer-key-background": "#0e1320",
        "footer-description-background": "#0e1320",
        "footer-key-foreground": "#f2c66d",
        "footer-description-foreground": "#98a5c4",
        "scrollbar": "#2a3550",
        "scrollbar-hover": "#3a4a6e",
        "scrollbar-active": "#5f79b8",
        "scrollbar-background": "#131a2a",
        "scrollbar-background-hover": "#131a2a",
        "scrollbar-background-active": "#131a2a",
        "scrollbar-corner-color": "#131a2a",
    },
)
