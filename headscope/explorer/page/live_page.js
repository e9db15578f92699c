import { byId } from "./dom.js";
import { startLive } from "./live.js";
import { startMode } from "./mode.js";
import { serverSource } from "./source.js";

startMode();
if (byId("read")) {
  startLive(serverSource()).catch((error) => {
    byId("status").textContent = error.message;
    byId("status").classList.add("wrong");
  });
}
