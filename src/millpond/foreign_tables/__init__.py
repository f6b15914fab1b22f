"""Tables that live in other systems. A kind is a package here; `base` says what one promises, `registry` names them."""
