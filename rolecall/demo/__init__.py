"""The sample company: a month of its life, lived through by the product's own actions. The same every time."""
