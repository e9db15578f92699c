import { byId } from "./dom.js";
import { startLive } from "./live.js";
import { startMode } from "./mode.js";
import { savedSource } from "./saved_source.js";

startMode();
const saved = JSON.parse(byId("saved").textContent);
startLive({ ...savedSource(saved), start: saved.start });
