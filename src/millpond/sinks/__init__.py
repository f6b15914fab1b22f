"""Where result rows go. A kind of sink is a module here; `base` says what one promises, `registry` names them."""
