// Cuts the pictures of a profile out of what was chosen. Without JavaScript the server crops them to the centre.

const ZOOM_MAX = 400; // per cent
const STEP = 0.04; // of the width, for each press of an arrow key
const JPEG_QUALITY = 0.92;
const OPAQUE = "image/jpeg";

class Cropper {
  /** `field` has the file input, and the parts that the page keeps ready for cropping. */
  constructor(field) {
    this.input = field.querySelector("input[type=file]");
    this.box = field.querySelector("[data-cropper]");
    this.canvas = this.box.querySelector("canvas");
    this.zoom = this.box.querySelector("input[type=range]");
    this.now = field.querySelector("[data-now]");
    this.name = field.querySelector("[data-chosen]");
    this.invitation = this.name.textContent;
    this.remove = field.querySelector("[type=checkbox]");
    this.picture = null;
    this.zoom.max = ZOOM_MAX;
    this.input.addEventListener("change", () => this.open(this.input.files[0]));
    this.zoom.addEventListener("input", () => this.draw());
    this.box.querySelector("[data-turn]").addEventListener("click", () => this.turn());
    this.box.querySelector("[data-cancel]").addEventListener("click", () => {
      this.cancel();
      this.input.focus({ preventScroll: true });
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointerdown", (event) => this.canvas.setPointerCapture(event.pointerId));
    this.canvas.addEventListener("pointermove", (event) => this.drag(event));
    this.remove?.addEventListener("change", () => this.remove.checked && this.cancel());
    if (this.input.files[0]) this.open(this.input.files[0]); // the browser may keep the choice over a reload
  }

  async open(file) {
    this.close();
    if (!file) return;
    let picture;
    try {
      picture = await createImageBitmap(file); // upright, as the camera says
    } catch {
      this.name.textContent = file.name; // the browser cannot show it: the server will say what is wrong
      return;
    }
    if (this.input.files[0] !== file) {
      picture.close(); // another one was chosen meanwhile
      return;
    }
    const hasFocus = document.activeElement === this.input;
    this.picture = picture;
    this.quarters = this.x = this.y = 0;
    this.zoom.value = 100;
    if (this.remove) this.remove.checked = false;
    this.show(true);
    if (hasFocus) this.canvas.focus({ preventScroll: true });
    this.draw();
  }

  close() {
    this.picture?.close();
    this.picture = null;
    this.name.textContent = this.invitation;
    this.show(false);
  }

  cancel() {
    this.input.value = "";
    this.close();
  }

  show(cropping) {
    this.box.hidden = !cropping;
    this.now.hidden = cropping;
  }

  turn() {
    this.quarters = (this.quarters + 1) % 4;
    [this.x, this.y] = [-this.y, this.x];
    this.draw();
  }

  move(x, y) {
    this.x += x;
    this.y += y;
    this.draw();
  }

  drag(event) {
    if (!this.canvas.hasPointerCapture(event.pointerId)) return;
    const scale = this.canvas.width / this.canvas.clientWidth;
    this.move(event.movementX * scale, event.movementY * scale);
  }

  key(event) {
    const step = this.canvas.width * STEP;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (moves[event.key]) this.move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom.stepUp(10);
    else if (event.key === "-") this.zoom.stepDown(10);
    else return;
    event.preventDefault();
    this.draw();
  }

  /** Draw the part that will be sent; the picture always covers the whole canvas. */
  draw() {
    if (!this.picture) return;
    const { width, height } = this.canvas;
    const sides = [this.picture.width, this.picture.height];
    if (this.quarters % 2) sides.reverse();
    const scale = (Math.max(width / sides[0], height / sides[1]) * this.zoom.value) / 100;
    const [xMax, yMax] = [(sides[0] * scale - width) / 2, (sides[1] * scale - height) / 2];
    this.x = Math.min(xMax, Math.max(-xMax, this.x));
    this.y = Math.min(yMax, Math.max(-yMax, this.y));
    const context = this.canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    context.imageSmoothingQuality = "high";
    context.translate(width / 2 + this.x, height / 2 + this.y);
    context.rotate((this.quarters * Math.PI) / 2);
    context.scale(scale, scale);
    context.drawImage(this.picture, -this.picture.width / 2, -this.picture.height / 2);
  }

  /** Put the part that is shown into the file input, in place of the whole picture. */
  async apply() {
    if (!this.picture) return;
    const file = this.input.files[0];
    // Other formats may be transparent.
    const type = file.type === OPAQUE ? OPAQUE : "image/png";
    const cut = await new Promise((done) => this.canvas.toBlob(done, type, JPEG_QUALITY));
    if (!cut) return; // the server crops to the centre
    const list = new DataTransfer();
    list.items.add(new File([cut], file.name, { type }));
    this.input.files = list.files;
  }
}

const form = document.querySelector("[data-profile]");
if (form) {
  const croppers = [...form.querySelectorAll("[data-picture]")].map((field) => new Cropper(field));
  let ready = false;
  form.addEventListener("submit", async (event) => {
    if (ready) return;
    event.preventDefault();
    ready = true; // a double click sends once
    await Promise.all(croppers.map((cropper) => cropper.apply()));
    form.submit();
  });
  addEventListener("pageshow", () => {
    ready = false;
  });
}
