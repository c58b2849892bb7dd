"""A stub of an OpenID Connect provider: whoever comes is logged in at once, as whom the test says."""

from __future__ import annotations

import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "semf-studio", "stub-secret"


class Provider:
    """Answers the four questions of a login."""

    def __init__(self) -> None:
        self.user: dict[str, Any] = {"sub": "1", "email": "ada@example.org", "email_verified": True}
        self._key = RSAKey.generate_key(2048, {"kid": "stub"})
        self._nonces: dict[str, str] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def secrets_for(self, server: str) -> str:
        """What the operator writes into secrets.toml."""
        values = {
            "redirect_uri": f"{server}/oauth2callback",
            "cookie_secret": secrets.token_hex(16),
            "client_id": CLIENT,
            "client_secret": SECRET,
            "server_metadata_url": f"{self.url}/.well-known/openid-configuration",
        }
        return "[auth]\n" + "".join(f'{name} = "{value}"\n' for name, value in values.items())

    def _metadata(self) -> dict[str, Any]:
        ways = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        supported = {"response_types": ["code"], "subject_types": ["public"], "id_token_signing_alg_values": ["RS256"]}
        urls = {name: f"{self.url}/{path}" for name, path in ways.items()}
        return {"issuer": self.url} | urls | {f"{name}_supported": values for name, values in supported.items()}

    def _code(self, asked: dict[str, list[str]]) -> str:
        """Where the browser is sent back to."""
        code = secrets.token_hex(8)
        self._nonces[code] = asked.get("nonce", [""])[0]
        return f"{asked['redirect_uri'][0]}?{urlencode({'code': code, 'state': asked['state'][0]})}"

    def _token(self, code: str) -> dict[str, Any]:
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + 600, "nonce": self._nonces.pop(code), **self.user}
        signed = jwt.encode({"alg": "RS256", "kid": "stub"}, claims, self._key)
        return {"access_token": "none", "token_type": "Bearer", "expires_in": 600, "id_token": signed}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *arguments: Any) -> None:
                return

            def say(self, value: dict[str, Any]) -> None:
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                asked = urlsplit(self.path)
                if asked.path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", provider._code(parse_qs(asked.query)))
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                elif asked.path == "/keys":
                    self.say({"keys": [provider._key.as_dict(private=False)]})
                else:
                    self.say(provider._metadata())

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.say(provider._token(form["code"][0]))

        return Handler
