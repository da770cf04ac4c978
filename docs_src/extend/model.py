import asyncio
import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from pydantic import BaseModel

from recollect.providers.models import open_model


class Reply(BaseModel):
    text: str


class Echo(BaseHTTPRequestHandler):
    """A model that repeats the question: what any server has to answer to `POST /chat/completions`."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps({"text": f"You said: {request['messages'][-1]['content']}"})
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": request["model"]}
        sent = json.dumps({**answer, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Echo)
Thread(target=server.serve_forever, daemon=True).start()
model = open_model("openai:echo", base_url=f"http://127.0.0.1:{server.server_port}/v1")
answer = asyncio.run(model.answer("Repeat.", "Hello there", Reply))
print(answer.value.text)
