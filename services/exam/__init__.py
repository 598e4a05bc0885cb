"""The online examination itself, a web application: without it there is nothing for students to load.

A student of the load test sends 20 requests, and finds on each page the words that show it is the right one:

| request | words |
| --- | --- |
| `POST /login` (account, code) | Welcome, ACCOUNT |
| `GET /questions` | List of questions |
| 8 times `GET /questions/N` | Question N of 8 |
| and `POST /questions/N/answer` (choice) | Answer saved |
| `POST /submit` | Examination submitted |
| `GET /result` | Your result |

The session is a cookie, `exam_session`, which the answer to the login sets. On average a request moves 11 kB towards
the student, Ethernet, IP and TCP headers included, so that 50 Mb/s are full at about 560 requests per second; between
application and database it is half of that.
"""
