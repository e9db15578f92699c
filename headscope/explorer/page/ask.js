// Requests to the server; what comes back, or an error people can read.
let received = 0;
export const bytesReceived = () => received;

const refused = async (response) => {
  let reason = `the server answered ${response.status}`;
  try {
    reason = (await response.json()).error || reason;
  } catch {
    // not every refusal is JSON
  }
  const error = new Error(reason);
  error.status = response.status;
  return error;
};

const fetched = async (path, options) => {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server does not answer; is it still running?");
  }
  if (!response.ok) throw await refused(response);
  return response;
};

export const ask = async (path, options = {}) => {
  const text = await (await fetched(path, options)).text();
  received += text.length;
  return JSON.parse(text);
};

export const tell = (path, content, options = {}) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), ...options });

export const askBytes = async (path, options = {}) => {
  const response = await fetched(path, options);
  const buffer = await response.arrayBuffer();
  received += buffer.byteLength;
  return { buffer, about: JSON.parse(response.headers.get("X-Headscope") || "{}") };
};
