"""The online examination itself, a web application: without it there is nothing for students to load."""
