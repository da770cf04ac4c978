#include "widget.hpp"
using std::string;

namespace ui {

// Something on the screen.
class Widget : public Base, private detail::Node {
public:
    Widget();
    virtual ~Widget();
    void draw(Canvas& c) const;
    int width = 0;
};

template <typename T>
T largest(T a, T b) { return a > b ? a : b; }

using Handle = int;
}

void ui::Widget::draw(Canvas& c) const {
    c.line(ui::largest<int>(1, 2));
    helper(new Pen());
}
