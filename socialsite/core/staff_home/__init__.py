"""What the staff home consists of: its tiles. `socialsite.staff_home` lists them."""
