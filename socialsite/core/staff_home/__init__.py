"""What the staff home consists of: tiles and numbers by day. `socialsite.staff_home` lists them."""
