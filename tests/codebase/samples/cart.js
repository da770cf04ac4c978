import Money, { round } from "./money.js";
const fs = require("fs");

/** Puts things in. */
export function addItem(cart, item) {
  return round(cart.total + item.price);
}

export class Cart extends Basket {
  size = 0;
  /** Empties it. */
  clear() { this.items = []; }
}

const discount = (cart) => new Money(cart.total);
exports.tax = function (x) { return x; };
