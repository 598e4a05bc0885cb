"""The online examination that students take in the load test: a web application with its database.

In the load test a student sends 20 requests, and expects these words on each page:

| request | words |
| --- | --- |
| `POST /login` (account, code) | Welcome, ACCOUNT |
| `GET /questions` | List of questions |
| 8 times `GET /questions/N` | Question N of 8 |
| and `POST /questions/N/answer` (choice) | Answer saved |
| `POST /submit` | Examination submitted |
| `GET /result` | Your result |

The session is a cookie, `exam_session`, which the answer to the login sets. On average a request moves 11 kB to the
student, including Ethernet, IP and TCP headers, so about 560 requests per second fill a link of 50 Mb/s; between
application and database it is half as much.
"""

# Environment variables of the application: any user can read a command line, and these hold secrets.
DATABASES = "EXAM_DATABASES"
SESSION_KEY = "EXAM_SESSION_KEY"
