"""Where rows come from. A kind of source is a module here; `base` says what one promises, `registry` names them."""
