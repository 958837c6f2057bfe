// Firefox as Debian has it, by its own remote protocol (Marionette): lines of JSON, each with its length before it. The browser
// that Playwright drives is a Firefox of its own, which is not in Debian.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";

export const firefox = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

/** A window of Firefox, with its profile in a folder. */
export class Firefox {
  #waiting = new Map();
  #received = Buffer.alloc(0);
  #last = 0;

  static async start(profile) {
    const browser = new Firefox();
    try {
      await browser.#start(profile);
    } catch (error) {
      await browser.stop();
      throw error;
    }
    return browser;
  }

  async #start(profile) {
    // Port 0 is any that is free; Firefox then writes it into the profile.
    writeFileSync(join(profile, "user.js"), 'user_pref("marionette.port", 0); user_pref("browser.shell.checkDefaultBrowser", false);\n');
    this.process = spawn(firefox, ["--headless", "--marionette", "--no-remote", "--profile", profile], { stdio: "ignore" });
    const port = join(profile, "MarionetteActivePort");
    for (let tries = 0; !existsSync(port) || readFileSync(port, "utf8") === ""; tries++) {
      if (tries > 600) throw new Error("Firefox has not started within 60 s");
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    this.socket = connect(Number(readFileSync(port, "utf8")), "127.0.0.1");
    this.socket.on("data", (octets) => this.#take(octets));
    await this.ask("WebDriver:NewSession", {});
  }

  ask(command, parameters) {
    const id = ++this.#last;
    const text = JSON.stringify([0, id, command, parameters]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  /** Returns a function's result in the page; the function knows nothing but its arguments. */
  async run(act, ...given) {
    const { value } = await this.ask("WebDriver:ExecuteScript", { script: `return (${act})(...arguments);`, args: given });
    return value;
  }

  async until(act, ...given) {
    for (let tries = 0; tries < 300; tries++) {
      const value = await this.run(act, ...given);
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`not within 30 s: ${act}`);
  }

  async stop() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.socket?.destroy();
    this.process.kill();
    await ended;
  }

  #take(octets) {
    this.#received = Buffer.concat([this.#received, octets]);
    for (;;) {
      const colon = this.#received.indexOf(":");
      const length = Number(this.#received.subarray(0, colon));
      if (colon < 0 || this.#received.length < colon + 1 + length) return;
      const message = JSON.parse(this.#received.subarray(colon + 1, colon + 1 + length));
      this.#received = this.#received.subarray(colon + 1 + length);
      // The first message is a greeting.
      if (!Array.isArray(message)) continue;
      const [, id, error, result] = message;
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(new Error(`${error.error}: ${error.message}`));
      else resolve(result);
    }
  }
}
