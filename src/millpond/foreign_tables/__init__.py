"""Tables that live in other systems, one package each."""
