import { Point } from "./point";

export interface Shape extends Named { area(): number; }
export type Pair<T> = [T, T];
export enum Colour { Red, Green }
namespace Inner { export const depth = 1; }

// A round one.
export abstract class Circle implements Shape {
  private radius: number = 1;
  area(): number { return compute(this.radius); }
}
