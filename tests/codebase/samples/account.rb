require "json"
require_relative "base"

module Bank
  RATE = 0.1

  # Holds money.
  class Account < Base::Holder
    # Puts money in.
    def deposit(amount)
      notify(amount)
      self.log.write amount
    end

    def self.open(name)
      new(name)
    end
  end
end
