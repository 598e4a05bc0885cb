"""OpenFlow 1.3 as this project uses it: the library, messages, rules, cookies and labels."""
