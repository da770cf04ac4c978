using System.Collections.Generic;
using static Shop.Prices;

namespace Shop
{
    /// <summary>Sells things.</summary>
    public class Store : Place, IOpen
    {
        private int count = 0;
        public string Name { get; set; }
        public Store(string name) { Name = name; }
        public void Sell(Item item) { Log.Write(new Receipt(item)); Count<int>(1); }
    }

    public interface IOpen { void Open(); }
    public enum Kind { Small, Large }
    public struct Point { public int X; }
    public record Line(int Amount);
}
