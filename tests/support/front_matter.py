"""Front matter that is made to be read for ever, or to fail in the loader rather than as YAML."""

ENDLESS = {
    "references": "a: &a [x, x]\nb: &b [*a, *a]\ndescription: *b",
    "number": "description: 0x" + "f" * 20_000,
    "nested": "description: " + "[" * 20_000,
    "date": "description: 2001-99-99",
    "bool": "description: !!bool neither",
    "time": "description: !!timestamp never",
}
